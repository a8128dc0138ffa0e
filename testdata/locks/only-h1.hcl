# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/built" {
  version = "1.0.0"
  hashes = [
    "h1:+riJ2EiT1KR8QoEXxahkvDBfWDiLIejswjgKFo8x6XU=",
    "h1:MU0S2dyu4GzujKUiR/FiIi8+r78IdQCWntzwD63qxN0=",
    "h1:dQODsOub3euoj0syzC91zWtdgQ7V3RJWxlrDn/bdy90=",
  ]
}
