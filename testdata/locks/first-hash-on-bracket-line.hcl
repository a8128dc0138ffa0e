# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/first" {
  version = "0.2.0"
  hashes = ["zh:"
  ]
}

provider "registry.opentofu.org/example/second" {
  version = "0.2.0"
  hashes = ["h1:bJU6Q5l5sEM9t7eaDfpHRZwX58/NTxcXZcgMWyhL/hU=",
            "zh:60e5c7aad4850ff3feb0b315f7f177acafa78695f62cc20ec476e8cac740a4d5",
            "zh:6e109cd1f3e44d3bc2bcc56c5586d2adf066c98678360f92d0e9ef08afb3814d"]
}
