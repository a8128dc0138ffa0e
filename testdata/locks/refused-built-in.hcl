# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "terraform.io/builtin/terraform" {
  version = "1.0.0"
}
