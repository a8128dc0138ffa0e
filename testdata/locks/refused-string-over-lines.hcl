# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/a" {
  version = "1.0.0"
  hashes = [
    "h1:a
b",
  ]
}
