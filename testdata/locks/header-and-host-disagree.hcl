# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/hashicorp/vault" {
  version     = "4.4.0"
  constraints = "~> 4.0"
  hashes = [
    "h1:hLKkSVPIqDcY/1usvGUpkxA0m8yf3lipm8x/r1Fm2Cs=",
    "zh:0d045d1f75751f27cf4383190ed62eca5de69656f169e7b193a2bd50c487468d",
    "zh:1059e59fcd9c5f6ea83e983a46f0b30790c931aad5cdfec72f21261c548a6313",
    "zh:24466d458de952f2b55b2a054c96d70bb743ceeda42837079c907b0573c4cb1c",
    "zh:93e18f60480562ca7f87aa23171ee6d43fbecd8a1b003733425b360571fc2cd6",
  ]
}
