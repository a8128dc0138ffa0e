//! Calls of modules by absolute paths, where another machine has the repository.

use provlock_test::survived;

use super::gate::Gate;
use super::{H1, NULL, ZH, requires};

/// Calls a module by its path out of the repository.
fn call(gate: &Gate, directory: &str, source: &str) {
    gate.root(directory, NULL, &[H1, ZH]);
    let configuration = requires("hashicorp/null", "");
    gate.write(
        &format!("{directory}/main.tf"),
        format!("{configuration}module \"m\" {{\n  source = \"{source}\"\n}}\n"),
    );
}

/// A repository that another machine has in `/srv/ann/infrastructure`.
fn repository(gate: &Gate) {
    gate.write("modules/net/vpc/main.tf", "");
    call(gate, "live", "/srv/ann/infrastructure/modules/net/vpc");
}

#[test]
fn a_module_of_the_repository_may_be_called_where_another_machine_has_it() {
    let gate = Gate::with(repository);
    gate.write("modules/net/dns/main.tf", "");
    call(&gate, "new", "/srv/ann/infrastructure/modules/net/dns");
    call(&gate, "newer", "/srv/ann/infrastructure/modules/net/vpc");
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    let known = gate.run(&["-r", "--new"]);
    known.assert_code(0);
    let warning =
        "warning[outside-repository]: module \"m\" is in /srv/ann/infrastructure/modules/net/dns";
    assert!(known.stdout.contains(warning), "{known}");
    assert!(!known.stdout.contains("live/main.tf"), "{known}");
}

#[test]
fn no_other_module_on_the_machine_is_called() {
    let gate = Gate::with(|gate| {
        repository(gate);
        gate.write("modules/net/dns/main.tf", "");
        gate.write("modules/net/empty/README.md", "");
        gate.link("../modules/net/dns", "other/dns");
    });
    let attempts = [
        "/srv/ann/infrastructure/modules/net/evil",
        "/srv/ann/infrastructure/modules/net/empty",
        "/srv/ann/infrastructure/other/dns",
        "/srv/ann/modules/net/dns",
        "/srv/ann/infrastructure-2/modules/net/dns",
        "/srv/eve/infrastructure/modules/net/dns",
        "/srv/ann/infrastructure/../evil/modules/net/dns",
        "/srv/ann/infrastructure/modules/%2e%2e%2f%2e%2e/evil",
        "/srv/ann/infrastructure",
        "/srv/ann/infrastructure/modules/net/dns?archive=zip",
        "/srv/ann/infrastructure//modules/net/dns",
        "git::file:///srv/ann/infrastructure/modules/net/dns",
        "/modules/net/dns",
    ];
    for source in attempts {
        call(&gate, "new", source);
        let errors = gate.errors(&["-r"]);
        assert!(!errors.is_empty(), "{source}");
        gate.reset();
    }
    // Nothing shows that this is the repository: one name is common, a module of the base is
    // not in the repository, or only the change calls a module there.
    let bases: [fn(&Gate); 3] = [
        |gate| {
            gate.write("vpc/main.tf", "");
            call(gate, "live", "/srv/shared/vpc");
        },
        |gate| {
            repository(gate);
            call(gate, "other", "/srv/ann/infrastructure/modules/net/extra");
        },
        |gate| gate.write("modules/net/vpc/main.tf", ""),
    ];
    let paths = [
        "/srv/shared/dns",
        "/srv/ann/infrastructure/modules/net/dns",
        "/srv/ann/infrastructure/modules/net/dns",
    ];
    for (base, path) in bases.into_iter().zip(paths) {
        let gate = Gate::with(|gate| {
            gate.write("modules/net/dns/main.tf", "");
            gate.write("dns/main.tf", "");
            base(gate);
        });
        call(&gate, "new", path);
        gate.commit();
        let output = gate.run(&["-r", "--new"]);
        output.assert_code(1);
        let error = format!("error[outside-repository]: module \"m\" is in {path}");
        assert!(output.stdout.contains(&error), "{output}");
    }
    survived(
        "a pull request calls a module out of the repository",
        attempts.len() + paths.len(),
    );
}
