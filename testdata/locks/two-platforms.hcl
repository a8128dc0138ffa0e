# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/aws" {
  version     = "5.82.2"
  constraints = ">= 4.0.0, ~> 5.0"
  hashes = [
    "h1:5iniNRf/QqFxRAURswUWOwE1TBUeuGeUBrHhKQ3reFA=",
    "h1:S3CyvdnHBxq58N66gW7rF2EhJKYga1flw0Lu7L8d3A0=",
    "zh:00dfef50eb9c40dde85235cccd5eb304135747ebed2e921b06bad9ab356381a2",
    "zh:0f87e17a45d13891d8f1dc7641881535608814b85ef6a305cf1849632c87136a",
    "zh:1837bb5f4b7e8229745e9c052a35d31e95c436d3d15ee35ad9302f3bbb226225",
    "zh:261a881fb2d9505620b33f2ac8d1f08c73ed7b33a3b77893d5b535218c007c3c",
    "zh:31e488ae55e5491634ef8d99c1bfe26b2b106d634f969d8fbf4a43ad90e3042e",
    "zh:33ab61fbbc289d7ca26e1745b56e3fd720b73948e56b6bfb11c0244db4d55794",
    "zh:64c38f63a01a9ccd13bb18e9c36ae9bb5680c8677947452f222a4ef524848d6f",
    "zh:78f5557c5b8c88b709c9b2b696f6ea7ace4434cb6fc3d97173cc79766495a769",
    "zh:7a25058cee1d3fe0fdc7c3b239d81c073f5259324e7ed549f02d9ea1ea85a5e2",
    "zh:a9855e909dc3099ed56075b8f123bbf3f12f14c5d42c4b3f29a09712782347b0",
    "zh:b4398fb56afc7a949432414fe2cba2fc50e7e4a87c5ed419e898ffa48860f8d6",
    "zh:c67b41a979399a6c425635b2ea6e34bcedbaf27a2426b7ba83189820dd48e79d",
    "zh:e5b805fdd688e5e0f3ab11f3199f7dc6b35c987a669d0fc3e56e0c3545daa1dc",
    "zh:e8009c325e9934bd2b0d4dcf5c9106d692877f00185a428aa5035e7d8089b97c",
    "zh:ea66ddc5d0a6f211e524cf900f9589210eefb50d5daa11857a15cf383a0daf0f",
  ]
}

provider "registry.opentofu.org/hashicorp/random" {
  version = "3.6.3"
  hashes = [
    "h1:4Cu4AQDCFws2bdE1As8HIS+cxwCjL1zwXVGs3ZUnMRg=",
    "h1:tVBW3Cw7m4bYUOSzo8GnDLojWiknorMgWHv43ca+Pzk=",
    "zh:21a4da6036495bc307464229f96f8fc9c284fc9543c899acbff0d98f9a5cd6cd",
    "zh:29d47c0321620a5d518e2a1f592041acc596869c7674f03d8935d70dbe99de8f",
    "zh:888fa36172de5d0f30952aa9101be97de219f75fadb761a742383c4f0f00b2f9",
    "zh:8ffefd624308f980aa9d997cb99506b2127df51961725f739e5ced2494bcf8d8",
    "zh:9b3c929a98dbc9421ef1f678d1334a47bd8873df5e2fec235de5c8d0fb247665",
    "zh:a10df4768345178f0cfe482a7c5b89348170e670d5d076bb92d6ae94722427ac",
    "zh:a673cffa67db829537cfb070151eb71de070a095a20bccf88f9c9847e40566c8",
    "zh:afb544bb9976c48a03dd811b99240ef4dc0bedb2598ed31b9c93f0c044f0ed34",
    "zh:bc80bb6afa37bb6b75e6c5f2f2133077a525f14ca8def94f3378b87d3d1059a1",
    "zh:c5d67183ec4edd3bb2abefdd1a01a487afe574fdcb6449a7753908f40d5808b9",
    "zh:dfebc84acf7b6782b52b2a2a6d75cf334c95d09c2cb13a91dac3fecdec194afe",
    "zh:f0bd4f5569b79d6c2c5b45dc5ef82cb53b298bc0bfdea51a347c2c89838721c8",
  ]
}
