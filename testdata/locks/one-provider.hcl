# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/null" {
  version     = "3.2.4"
  constraints = "~> 3.2"
  hashes = [
    "h1:Lhb3snFQf8tDNcS48+w54uL0V/9ryOmtT8c7twNu32o=",
    "zh:2fe4b5c30b7513fc1abbf79dd7e9c4f776d7f8dbfb79e5df7a29654ce3b7c286",
    "zh:6005a61c411c8bd09bd71da1b9ee95584463b6dacda74b8071adea415bc2cbf2",
    "zh:e0e5fbd94b689b488d7bf9e1d543f9691d33ad6fd5dc27ee3ca98077174aa005",
    "zh:e15b4cff58f8a834eaa777286af911e77978e0558724d476ed36517bcdb423dd",
  ]
}
