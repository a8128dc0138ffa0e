# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/bare" {
  version = "0.1.0"
}

provider "registry.opentofu.org/example/constrained" {
  version     = "0.2.0"
  constraints = "0.2.0"
}
