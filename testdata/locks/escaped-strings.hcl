# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/\u0065xample/escaped" {
  version     = "1.\u0030.0"
  constraints = "\u003e= 1.0.0"
  hashes = [
    "h1:$${x}",
    "h1:%%{x}",
    "h1:\"q\"",
    "h1:tab\tx",
    "h1:new\nline",
    "h1:café # no comment",
    "h1:\\b",
    "h1:\u0001",
    "h1:😀 // no comment",
    "h1:\u200b",
    "h1:$x",
    "h1:${"1"}${2}",
  ]
}
