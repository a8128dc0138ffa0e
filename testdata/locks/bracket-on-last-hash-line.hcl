# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/azure/azapi" {
  version     = "1.5.0"
  constraints = ">= 1.3.0, 1.5.0"
  hashes = [
    "h1:yJ80eNiA2flKqhKT2vGNQXmJzTZlNXxnDQDukaOFSqQ=",
    "zh:08a817ee4b2ed8c822719c63ea250a6e9651c9a7be485f7a5f0572f8948b9de3",
    "zh:22027f546d672a3188eae905acb4d6d2ca0d732613a11cc97d7bc5ac70bc8507",
    "zh:3f5cb1ff3e23b2cd818706b2cc48dc9aa1cd9636a2f89c8d54e3666e71ecfb16",
    "zh:5ec2b658636e20fb576c9815ee3d26d4e1efdd5dfd436e4679962a98a1519eb0",]
}

provider "registry.opentofu.org/hashicorp/azuread" {
  version = "2.20.0"
  hashes = [
    "h1:4qvFU4CYVSpvhYM1iK3Fm8rYoYKtg20Q8MwayX8JBt8=",
    "zh:0ad32563d823bf636cca8d72dd03b5a1a912c1638065e21e298395ee618adc97",
    "zh:3cc7e5e7b05cd6d770896f63653fe97379af0cef4b8b6ea770c27dfe34778e9f",
    "zh:72fe5cfe53d4177fa432c9948a7b3ff1a8128d21b0cd238f46939656c3982c35",
    "zh:ba046f5f31ffe38a7e17c505cb45bf8abcce2e28029be5032040f02c9560ddbd"]
}
