// CRC-32C (Castagnoli), which every frame and every stored item ends with or carries.
#ifndef HOLDFAST_STORE_FS_CRC32C_H_
#define HOLDFAST_STORE_FS_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace holdfast::fs {

// The checksum of `bytes`, going on from the one of what came before.
uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_CRC32C_H_
