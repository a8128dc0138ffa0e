# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/one" { version = "1.0.0" }
provider "registry.opentofu.org/example/two" {version="2.0.0"}
