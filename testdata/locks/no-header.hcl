provider "registry.opentofu.org/hashicorp/dns" {
  version     = "3.4.2"
  constraints = ">= 3.0.0"
  hashes = [
    "h1:ljcaxWsVrzFxWhU1ocnXV7RLqHlIxH7z6J54WzWDnOQ=",
    "zh:b9b8abc0532effdbb9b8db023e5b22ff51478732f4066cf28376593ced762a42",
    "zh:c1e769db972680fb23a825f98e363ea203c2fa3105bfe65ef975a57647f22ae4",
    "zh:e4cdeb60a4aef7288093f76df0fd14494e311c32f888e2fd457759b7cc24979d",
    "zh:e8a38ecaca23ce4be4a808f6ef889173bf96c1f52779a8964ae5d2a06de9eafc",
  ]
}

provider "registry.opentofu.org/hashicorp/external" {
  version = "2.3.4"
  hashes = [
    "h1:PpnmcRkvq/l11Ogze3AFGtl35OxwWBtPzSTPy8Q3M3k=",
    "zh:50830ec1804c9550e4889d92fdbf4191021e46d65b5f2f017cbfc9416fc99ffa",
    "zh:713a0270188fe99bb96016b4fc8c91a4e37689dd657ee6b0a822a55205f5f19b",
    "zh:8ce535c17ab2ccedd0ecd75b6711b3a5f90c9ff110742d4ebd6caa9677a7ca12",
    "zh:ac414f24b8c783cccc0c006b18204f8ec1aa3d62c5f2e7b6585822b5bae48a23",
  ]
}
