# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/none" {
  version     = "1.0.0"
  constraints = ""
}
