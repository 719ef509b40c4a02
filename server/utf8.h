// Whether bytes are text.
#ifndef HOLDFAST_SERVER_UTF8_H_
#define HOLDFAST_SERVER_UTF8_H_

#include <string_view>

namespace holdfast {

// True for UTF-8 in its shortest form, without halves of surrogate pairs and without the code
// points that never are a character.
bool IsUtf8(std::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_UTF8_H_
