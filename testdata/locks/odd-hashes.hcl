# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/odd" {
  version     = "1.2.3"
  constraints = ">= 1.0.0"
  hashes = [
    "1:x",
    "H1:upper",
    "h 1:blank",
    "h1:",
    "h1:invalid",
    "h2:later",
    "test:placeholder-1",
    "zh:",
    "zh:xyz",
    "zh:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  ]
}
