//! The modules that require a provider, as a tree.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::provider::ProviderAddress;

use super::requirement::{CalledModule, Declaration, Requirements};

/// A module that requires a provider, with one declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirer<'a> {
    /// The call of the module; `None` for the root module.
    pub call: Option<&'a CalledModule>,
    /// Number of the calls that lead to the module and are in the list, too.
    pub depth: usize,
    /// Its declaration; `None` if only modules that it calls require the provider.
    pub declaration: Option<&'a Declaration>,
    /// Whether modules that this one calls require the provider, and are listed at an earlier call
    /// of this one.
    pub is_repeated: bool,
}

impl Requirements {
    /// The modules that require a provider, the root module first and each other one below the
    /// nearest of its callers that is in the list. A module is listed once for each call of it, the
    /// first time with all declarations that have constraints.
    pub fn requirers(&self, address: &ProviderAddress) -> Vec<Requirer<'_>> {
        let declarations = self.declarations_by_directory(address);
        let called: HashSet<&Path> = self
            .call_tree
            .iter()
            .map(|call| call.directory.as_path())
            .collect();
        let mut requirers = Vec::new();
        let mut listed_directories = HashSet::new();
        let root = Requirer {
            call: None,
            depth: 0,
            declaration: None,
            is_repeated: false,
        };
        for (number, module) in self.modules.iter().enumerate() {
            let directory = module.canonical.as_path();
            // The files of a Terragrunt unit are in several directories, to which no call leads.
            if (number == 0 || !called.contains(directory)) && listed_directories.insert(directory)
            {
                let own = declarations.get(directory).into_iter().flatten();
                requirers.extend(own.map(|declaration| Requirer {
                    declaration: Some(declaration),
                    ..root
                }));
            }
        }
        // For each call, the depth of what is listed below it: the number of listed calls that lead
        // there.
        let mut depths_below: Vec<usize> = Vec::with_capacity(self.call_tree.len());
        let mut seen = HashSet::new();
        let mut with_requirers_below = HashSet::new();
        for call in &self.call_tree {
            let directory = call.directory.as_path();
            let depth = call.parent.map_or(0, |parent| depths_below[parent]);
            let all_declarations = declarations
                .get(directory)
                .map(Vec::as_slice)
                .unwrap_or_default();
            // All declarations are shown only at the first call of the module.
            let shown = if seen.insert(directory) {
                all_declarations
            } else {
                all_declarations.get(..1).unwrap_or_default()
            };
            let is_repeated = call.is_repeated && with_requirers_below.contains(directory);
            let requirer = Requirer {
                call: Some(call),
                depth,
                declaration: None,
                is_repeated,
            };
            requirers.extend(shown.iter().map(|declaration| Requirer {
                declaration: Some(declaration),
                ..requirer
            }));
            // Modules that it calls are listed at an earlier call of it.
            if shown.is_empty() && is_repeated {
                requirers.push(requirer);
            }
            let is_listed = !shown.is_empty() || is_repeated;
            depths_below.push(depth + usize::from(is_listed));
            let mut above = if is_listed { call.parent } else { None };
            while let Some(parent) = above {
                with_requirers_below.insert(self.call_tree[parent].directory.as_path());
                above = self.call_tree[parent].parent;
            }
        }
        requirers
    }

    /// The declarations of a provider, by the canonical directory of their module: all with
    /// constraints, or else the first.
    fn declarations_by_directory(
        &self,
        address: &ProviderAddress,
    ) -> HashMap<&Path, Vec<&Declaration>> {
        let canonical: HashMap<&Path, &Path> = self
            .modules
            .iter()
            .map(|module| (module.path.as_path(), module.canonical.as_path()))
            .collect();
        let mut by_directory: HashMap<&Path, Vec<&Declaration>> = HashMap::new();
        for declaration in self
            .providers
            .get(address)
            .into_iter()
            .flat_map(|requirement| &requirement.declarations)
        {
            if let Some(directory) = canonical.get(declaration.module.as_path()) {
                by_directory.entry(directory).or_default().push(declaration);
            }
        }
        for declarations in by_directory.values_mut() {
            let constrained: Vec<_> = declarations
                .iter()
                .copied()
                .filter(|declaration| !declaration.constraints.is_empty())
                .collect();
            if constrained.is_empty() {
                declarations.truncate(1);
            } else {
                *declarations = constrained;
            }
        }
        by_directory
    }
}
