# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/commas" {
  version = "1.0.0"
  hashes = [
      "h1:C+5FPPrli0UTZyFHlCgBHuXr+5MsoBBRMO8ZV1bm09o=" # first
    , "zh:de2accfb9c288b764243914712537d445d1a2ed9dc3ae9e305e5e3e76d45aa80" # second
    , "zh:bf1e3d67d45bb015a20dd4a06168f9ff5d34c02f6429916a32d6ca81e899fc95"
  ]
}
