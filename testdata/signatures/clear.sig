-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA512

71bb551409c9927cfd2321ce5c37e2ab64bae5704ad31f3d760873d443677f2c  terraform-provider-sig_1.0.0_linux_amd64.zip
abababababababababababababababababababababababababababababababab  terraform-provider-sig_1.0.0_darwin_arm64.zip
-----BEGIN PGP SIGNATURE-----

iQEzBAEBCgAdFiEElaI9IpOghLTCKwfWJ2SArZWeI44FAmW63wAACgkQJ2SArZWe
I46fgAf/f/5xgsW3rLCO3fSEOlzNJmpe4xffH3mi9ADS74GWpAhgAO5diN39OAn4
fyP/EYLuZMM2fD4PCh9NbBH93VAeYhaDIXOs40wYg+qngg790a+U3M42MRfaeUlm
CXHbVufeK9xEtjrPCLGhQ2AmiE1cV16GXB9522jekxlIUiGk/Im5m1JF0ArK8v3G
5LmKTakRsFDR8KXia45JoR+dHKAEqku6uGBCbCWkRMaplEneDfSBV9hqhAqgQszB
5O3IgJ53ZVy1nrAzUx/qeAkm+RwXJXbjEJBeRDKxrCJsjNcaxew0Ui1NfeD4ki4O
O9wTbY7rWzfsZ/ZxvdFYzCP+2Q8+qQ==
=xu9H
-----END PGP SIGNATURE-----
