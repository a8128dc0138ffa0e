# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/azurerm" {
  version     = "3.117.0"
  constraints = ">= 2.0.0, >= 2.40.0, >= 2.83.0, >= 3.0.0, ~> 3.0, >= 3.11.0, != 3.20.0, >= 3.40.0, >= 3.79.0, >= 3.90.0, <= 3.117.0, < 4.0.0"
  hashes = [
    "h1:S3ylWGXceYT2fpc4O0tIwn3hp9YifIs2/uRF6M9o9R8=",
    "zh:23d7d4adf0e8a9689eeefd5f4516bf3e50be457d378c63e9f9a439e5a2790592",
    "zh:86acd88a077963ac98283c5787b0fbd5870c03ef4e4fdce93eed768b52f10a02",
    "zh:c085bb183897c4b70c21c80df56b1eddc729c85f39444d7712ef328a29a2cbf7",
    "zh:fc97bf3d0cf95799ac28cee25f8b410e1f84f439f8d29b94fd04e20aa4df8f32",
  ]
}
