# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/http" {
  version     = "3.4.5"
  constraints = "~> 3.4"
  hashes = [
    "h1:fkTz9r5GFMFZtDUyY9Mp0QrLHfMvVMgJh4ba/TvVj9M=",
    "h1:wYcHYAVKsF6yuLj/1bJgWiNmvt21PwNtK2c5ENl5+RA=",
    "zh:03f324b1424c15db81156bdbe2dcbc6c675378c118adf0edfb4c587566aeda8d",
    "zh:6548b4570ed3e339c8a83b48d2285350f85c67bbf2f52647f183ccd19be7b1bb",
    "zh:8f19657bccb91fcaf77982dcd6b9d1bcb670ff5f2a3f1307c493c2b43e5a4e32",
    "zh:fb73c3661e569f65370c65dc78c893a9ef8a5b121c2e94a122f3cf9cd2196dc6",
  ]
}

provider "registry.opentofu.org/hashicorp/time" {
  version = "0.12.1"
  hashes = [
    "h1:sxxM3Vu5aiM6ffEg5PYAKXuWA4ykP69ELqebgmUw2CI=",
    "zh:0febf486fee1a5c7358caa2fb84ed6c7e70240a274aa3b7b934c88777d08a0fa",
    "zh:5b0b4d7540c68135a89b68702c979d3a9f0fee80f1ae4f7cd88d994d02618ee2",
    "zh:67c740e5cf865f540e8f35729402a37d9a6b914b03f24f73f08385433b88c716",
    "zh:c8ae365b085e848eb11e82518a71a282b4f2a395cc001e974bbce6696ad0296d",
  ]
}
