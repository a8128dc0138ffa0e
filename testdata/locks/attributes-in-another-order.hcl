# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/order" {
  hashes = [
    "zh:de4968492cd4ea9a5d35a5381befaadae60fe078ebb72d34431806286e70bc44",
  ]
  constraints = ">= 1.0.0"
  version     = "1.0.0"
}

provider "registry.opentofu.org/example/other" {
  hashes = [
    "zh:de4968492cd4ea9a5d35a5381befaadae60fe078ebb72d34431806286e70bc44",
  ]
  version = "1.0.0"
}
