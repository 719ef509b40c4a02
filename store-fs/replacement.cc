#include "store-fs/replacement.h"

#include "platform/status_macros.h"
#include "store-fs/root.h"

namespace holdfast::fs {
namespace {

std::string PathInTmp(const Manifest& manifest, const char* what) {
  return std::string(kTmp) + "/" + manifest.uid.value() + what;
}

}  // namespace

std::string LogInTmp(const Manifest& manifest) { return PathInTmp(manifest, ".log"); }
std::string IndexInTmp(const Manifest& manifest) { return PathInTmp(manifest, ".index"); }
std::string RunInTmp(const Manifest& manifest) { return PathInTmp(manifest, ".run"); }

absl::Status DiscardReplacement(Files& files, const Manifest& manifest) {
  for (const std::string& path : {LogInTmp(manifest), IndexInTmp(manifest), RunInTmp(manifest)}) {
    RETURN_IF_ERROR(RemoveTree(files, path));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::fs
