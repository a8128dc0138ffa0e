# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/random" {
  version = "3.6.3"
  hashes = [
    "h1:4Cu4AQDCFws2bdE1As8HIS+cxwCjL1zwXVGs3ZUnMRg=",
    "zh:21a4da6036495bc307464229f96f8fc9c284fc9543c899acbff0d98f9a5cd6cd",
    "zh:9b3c929a98dbc9421ef1f678d1334a47bd8873df5e2fec235de5c8d0fb247665",
    "zh:a673cffa67db829537cfb070151eb71de070a095a20bccf88f9c9847e40566c8",
    "zh:f0bd4f5569b79d6c2c5b45dc5ef82cb53b298bc0bfdea51a347c2c89838721c8",
  ]
}

provider "registry.opentofu.org/example/zeta" {
  version = "1.0.0"
  hashes = [
    "h1:6m/x40AJAEeaIGuYbH0DwROpz2gLWHq7ZhAk/zTeCXg=",
    "zh:5b8c422ad34171950f74e6a96060a20340c7d67763e283d3fed9ffcea4aa6e62",
    "zh:6bc709fa26f008d8bcbc872f016de5ff993b9810bad11ad7d49006c16cea8925",
    "zh:6c5ab5447e897e9e7404ff9ce2014f1319608c3107049cdadc3dc4ec85b16585",
    "zh:d5d51fa67115ce8947a1718542f3861b0c464f956a8aa1250bd984ce58b7316c",
  ]
}

provider "registry.opentofu.org/hashicorp/null" {
  version     = "3.2.4"
  constraints = "~> 3.2"
  hashes = [
    "zh:489c1bead2f5b3be2fee6c3fdb258fb16bbef8c0e979e8fd0cac3913808cc4ab",
    "h1:PH/bOXeGpjOeCG0EZWMV5NsHSQ/JaWAUhKddLoiKBSM=",
    "zh:4cab237f7ea65caf778cb3e1e4e93957ffa7a1c917b5e8bc73fb92e978e18b2e",
    "h1:bJU6Q5l5sEM9t7eaDfpHRZwX58/NTxcXZcgMWyhL/hU=",
  ]
}
