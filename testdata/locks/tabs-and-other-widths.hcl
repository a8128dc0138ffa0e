# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/tabs" {
	version	=	"1.0.0"
	hashes	=	[
		"h1:C+5FPPrli0UTZyFHlCgBHuXr+5MsoBBRMO8ZV1bm09o=",
		"zh:de2accfb9c288b764243914712537d445d1a2ed9dc3ae9e305e5e3e76d45aa80"
	]
}

provider "registry.opentofu.org/example/wide" {
        version     = "1.0.0"
        constraints = "1.0.0"
        hashes      = [
                "zh:1f620851a3f2ffd27e9d1d00399036e3ecb1c3b22474d2deded8f7b801adbe63",
        ]   
}   

provider   "registry.opentofu.org/example/zero"{
version="1.0.0"
hashes=[
"zh:1f620851a3f2ffd27e9d1d00399036e3ecb1c3b22474d2deded8f7b801adbe63",
]
}
