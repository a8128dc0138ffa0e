

# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.



provider "registry.opentofu.org/hashicorp/cloudinit" {
  version = "2.3.5"

  hashes = [
    "h1:CTC2dwPwo44AyiokvyhFF41VmC1ZdZfqCeVC9DFw7jU=",
    "zh:0daf79c3feddaf0ece3bc52f98932534f2ca7cff9c7dbcf6861170cce1b354e2",
    "zh:1a9f299d8297ef549901a43d99e35fe52108315374e4569ec1a4dd4ffb879197",
    "zh:60003992e1f663bc75b8e2ea346aecfcd0bd6afbfefdc6d14af9749ccd1fdf98",
    "zh:674406cadb379f527347cbe7c8c85150d352236e4ef5e0787a541db11e8967bb",
  ]
}


provider "registry.opentofu.org/hashicorp/helm" {

  version     = "2.17.0"
  constraints = "~> 2.0"
  hashes = [
    "h1:tR4Ae23TugkVHibL35N0OuiUbn1x651FbyaoyzTq3ww=",
    "zh:3871929fed4ec57f97bd4e83d4f03a7daff6910d73ac12b9892c14186f37689f",
    "zh:43a079b8e1f7e6ad73daf0f253d3993051b88bbc4e5db4adb20fc984194f3cc0",
    "zh:9bdf17bd773e8dba27165123371be14969e4751e54312d127d3128a5a8a89ba5",
    "zh:db9f888552fd994769735b58f7e363719a7e2f8eb87a2f44961363f3c1cddeb5",
  ]

}


