resource "null_resource" "a" {
  provider = null.west
  triggers = {
    text = "${var.a}-%{ if true }x%{ endif }"
  }
}

data "http" "b" {
  url = <<-EOT
    https://example.com/${each.key}
    EOT
}

import {
  to = random_pet.c
  id = "1"
}
