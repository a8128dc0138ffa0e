# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "example/short" {
  version     = "v1.0"
  constraints = ">=1.0"
  hashes      = []
}

provider "registry.opentofu.org/example/other" {
  constraints = 1
  hashes      = ["h1:ok", "no-scheme", 5, null]
  source      = "example/other"
  nested {}
}

provider "registry.opentofu.org/example/list" "second" {
  version = ["1.0.0"]
  hashes  = "h1:x"
}

resource "a" "b" {}
locked = true
