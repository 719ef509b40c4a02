#include "store-fs/description.h"

#include "session/limits.h"

namespace holdfast::fs {
namespace {

constexpr char kContractVersion[] = "1.0.0";
constexpr char kConfigSchema[] = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["name", "kind"],
  "properties": {
    "name": {"type": "string", "minLength": 1},
    "kind": {"const": "fs"},
    "enabled": {"type": "boolean"},
    "active": {"type": "boolean"},
    "root": {"type": "string", "pattern": "^/"},
    "durability": {"enum": ["sync", "interval"]},
    "interval": {"type": "string"},
    "allow_network_file_system": {"type": "boolean"}
  }
})";

}  // namespace

StoreDescription DescribeFs() {
  StoreDescription description;
  description.kind = "fs";
  description.contract_version = kContractVersion;
  description.config_schema = kConfigSchema;
  description.snapshot_bytes_limit = kSnapshotBytes;
  description.large_slot_streaming = true;
  return description;
}

}  // namespace holdfast::fs
