{
  description = "Locks, verifies, upgrades and compares the dependency lock files of OpenTofu and Terraform";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      manifest = (nixpkgs.lib.importTOML ./Cargo.toml).package;
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system:
        let pkgs = nixpkgs.legacyPackages.${system}; in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = manifest.name;
            version = manifest.version;
            src = self;
            cargoLock.lockFile = ./Cargo.lock;
            env.PROVLOCK_COMMIT = self.rev or "";
            nativeBuildInputs = [ pkgs.installShellFiles ];
            # They run git, gpg and servers on loopback addresses; CI runs them.
            doCheck = false;
            postInstall = ''
              installManPage docs/man/*.1
              installShellCompletion --cmd provlock --bash completions/provlock.bash \
                --fish completions/provlock.fish --zsh completions/_provlock
            '';
            meta = {
              inherit (manifest) description;
              license = pkgs.lib.licenses.mpl20;
              mainProgram = "provlock";
            };
          };
        });
    };
}
