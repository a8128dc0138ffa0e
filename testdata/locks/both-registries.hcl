# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/cloudflare/cloudflare" {
  version     = "4.52.0"
  constraints = "~> 4.0"
  hashes = [
    "h1:T+yCDaUOWMZ4OezZQgwQoTIjU7Wgkh0sCP80Tv1d2vM=",
    "zh:05020e4c91800e36300850d17d823204ee444b50b07c5662864237fdf17331e2",
    "zh:090bc9d81ada2570a2534f87876b2292b238fe0bddc0be818649f6494a9a1215",
    "zh:186a2908b8fb459fd86e3e38025c2af8a667353ecb0380894c3b249edc818210",
    "zh:9ad09b48cbfed2672e7b4acd2c84fe1890ead91ed3f47cfecb56a0ad42c64a72",
  ]
}

provider "registry.opentofu.org/hashicorp/tls" {
  version     = "4.0.6"
  constraints = ">= 3.0.0"
  hashes = [
    "h1:eVCLDJd95Ca0KpiIVct8g4LbruTgkYaqPv1ggbSeb94=",
    "zh:54ee6d4bd823bcfde3e2addf353f05d9dcd76bccad05e8ae1df2fc05e0727d4c",
    "zh:a460d81df1db42dcd9e563ff644d0ebfd1d1121c373c9d51b7136eb87d66f104",
    "zh:ac1306d083d181289bc23fb193618a8acf170afa007963eae4b6bdaeb38ecf63",
    "zh:c32aeca1aec064a2693b45c27c5314a398f8253a3498a843002096224d485a18",
  ]
}

provider "registry.terraform.io/hashicorp/kubernetes" {
  version = "2.35.0"
  hashes = [
    "h1:Aydy6KuzlB0CDeIO9eO5ctIsYfVbGl+oGirKm3t5vhI=",
    "zh:29f3f1421ecfe3375d16966161b7618c25adb07a5807d0474006136e5eeae542",
    "zh:4d3b955b7f2440cce1b58c8489434ccdf53d8e62d56607d5068881754dbf1245",
    "zh:70871436dc40b547e4440485e2a79e26264d7fd5e0bea8b108c30a862ab72a07",
    "zh:928c4494c994be230dfb78d526092344632cb7213fe1f5f3d7c78c5c17740e25",
  ]
}

provider "registry.terraform.io/hashicorp/tls" {
  version     = "4.0.5"
  constraints = ">= 3.0.0"
  hashes = [
    "h1:dXvQjhNGSZsmaXgmIVbmr2U1cs9QJpjshk/6C0DGYCw=",
    "zh:64ee3977a450926bea2e8d3377c651b5bd72b9d4d4f72183c606c1ce8c4fea69",
    "zh:7541b9d5e9b61673ea3bf6026eedc2c5771e94418caca9ed86792260080740b1",
    "zh:7a6f755a89c8a9e5b663b57237515d96cf834c5b03a88cbbbc6d188519acf7e6",
    "zh:c14a1268cb1ebd839b653f0690ba83bef06393e3a0c870a649b1b27b4b07e16f",
  ]
}
