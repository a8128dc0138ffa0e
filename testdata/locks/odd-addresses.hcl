# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "a.example/zz/x" {
  version = "1.0.0"
  hashes = [
    "zh:e3d9f8f33c066272a292c18204894d7211365c3bc3ed9a85f9f9d702d6b520a7",
  ]
}

provider "a.example-b/aa/x" {
  version = "1.0.0"
  hashes = [
    "zh:2018366e7361a93df8459af7ceace6630477da1a11c4eecb506b6c7a61027380",
  ]
}

provider "a.example:80/aa/x" {
  version = "1.0.0"
  hashes = [
    "zh:1bbcbe04eae5572e1c701296a924e87066a6db376d90ece1b297be90df06ce87",
  ]
}

provider "a.example:8080/aa/x" {
  version = "1.0.0"
  hashes = [
    "zh:35d7b2764a612a31f32e1af77f04a6f0b0a260869a2647898b6764fe5dc00281",
  ]
}

provider "a.example:9/aa/x" {
  version = "1.0.0"
  hashes = [
    "zh:633c85356a94df20ecbd9027303774f0dc9cf90bfc5d6fb8b92952285b81efea",
  ]
}

provider "registry.opentofu.org/acme/foo" {
  version = "1.0.0"
  hashes = [
    "zh:01c9812ba606ad66ac3a36ce4fc8c8f4cc46a42397901008c1fd5c9e775d2040",
  ]
}

provider "registry.opentofu.org/acme/foo-x" {
  version = "1.0.0"
  hashes = [
    "zh:24c509747d93882f81c12b24969869901368e1b88d7cb9c688dccbf933efcc5d",
  ]
}

provider "registry.opentofu.org/acme/foo2" {
  version = "1.0.0"
  hashes = [
    "zh:45d8c5566de3bb552ccef3578f0ac029b7d83f35ae0603f848bb077fdef5d01f",
  ]
}

provider "registry.opentofu.org/acme-x/foo" {
  version = "1.0.0"
  hashes = [
    "zh:04b43419fbf01951949e009962d63132fadd73d2f49f75b8c0b6e0488e5b880c",
  ]
}

provider "bücher.example/verlag/bücher" {
  version = "1.0.0"
  hashes = [
    "zh:d090ed2925d5f04b6bf6b2b9045962c342bc14452e6908b37bd3ba9f53e81082",
  ]
}

provider "zürich.example/a/b" {
  version = "1.0.0"
  hashes = [
    "zh:401563e99329e9059d3bf8afa5ef9886fd25509f0ad3681ad05caecc4533a853",
  ]
}
