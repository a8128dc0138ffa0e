# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

# 5.54.0 crashes in our development account
provider "registry.terraform.io/hashicorp/aws" {
  version     = "5.53.0"
  constraints = "~> 5.0"
  hashes = [
    "h1:9cNcISMeDchz60DG9C2Ekyn93OLKxQ3iRCC5LS7zj9k=",
    "zh:2345badfb348abde38d309097a8d4979ba030263a79c833a7013460651d7fcb1",
    "zh:2b04aa2b037b5c1e33efff150b8bea90f87e95b8cb3f4fe94e280fd51832ece0",
    "zh:39811abdb26389ee8fe5734c5248adb02643bd32c95bc95bb8305b38d872ab0c",
    "zh:eb6bded522c7af7c11513c887a4da20509f706105203a3fddcbecabee5e0793a",
  ]
}

# kept for the old module, see TICKET-12
# (remove with it)
provider "registry.terraform.io/hashicorp/template" {
  version = "2.2.0"
  hashes = [
    "h1:PzazgINrh11xIEySQvyYClvmEcOvMW0bHnTQ0RaKtF0=",
    "zh:3334f0e1d08a320adac4ee6e3866f24bc635fea96e29fcfaef23562ed27de92a",
    "zh:74b7bbd2a47a3697909215eacd0d64b998c78083ba64fffad1dc043cda810538",
    "zh:843448f610f82edd37bf2d0b094951da812f7aaaa310891de029ecaa1d8ed2b3",
    "zh:fe559f202b4040c05acbfdeb6e231e5e3f69fca880d07603c79bd5cdd7b28d18",
  ]
}
