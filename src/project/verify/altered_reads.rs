//! Whether a change may alter what a value depends on that cannot be computed: files that
//! functions read, and outputs of other units of Terragrunt.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::base::{BaseFacts, alters_code};
use crate::configuration::terragrunt::{MAX_FILE_SIZE, UnitSource};
use crate::configuration::{FileReads, is_part_of_configuration};
use crate::modules::is_configuration;
use crate::project::reviewed_change::file_name;
use crate::project::root_module::unit::TerragruntUnit;
use crate::system::{Tree, canonicalize, files};

/// Maximum number of units whose outputs depend on each other that are read.
const MOST_UNITS: usize = 100;

impl BaseFacts<'_> {
    /// Whether the change may alter what an unknown part of a root module with these units depends
    /// on: a file or an output, or a value that it refers to by a name.
    pub(super) fn may_alter_reads(&self, reads: &FileReads, units: &[TerragruntUnit]) -> bool {
        let mut units = units.iter();
        let are_names_altered =
            reads.refers_to_names && units.any(|unit| alters_code(self.change, &unit.read));
        are_names_altered || self.may_alter_files(reads)
    }

    /// Whether the change may alter a file that functions read, or the outputs of a unit.
    pub(super) fn may_alter_files(&self, reads: &FileReads) -> bool {
        let change = self.change;
        if reads.has_computed_path && change.alters_files_of_other_kinds() {
            return true;
        }
        if reads
            .path_ends
            .iter()
            .any(|end| change.may_alter_path_ending_in(end))
        {
            return true;
        }
        if reads.paths.iter().any(|path| change.may_alter_path(path)) {
            return true;
        }
        for (template, directories) in &reads.templates {
            let path = files::join(&change.current_directory, template);
            let text = Tree::Work.read(&path, MAX_FILE_SIZE).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            // OpenTofu and Terraform refuse a template that reads a template.
            let mut of_template = FileReads::of_template(&text, directories);
            of_template.templates.clear();
            if self.may_alter_files(&of_template) {
                return true;
            }
        }
        if reads.reads_unknown_outputs && self.alters_configuration() {
            return true;
        }
        let mut seen = BTreeSet::new();
        let mut units = reads.outputs.iter();
        units.any(|unit| self.may_alter_outputs(unit, &mut seen))
    }

    /// Whether the change may alter the outputs of the unit in a directory: its files, its module,
    /// or units whose outputs it uses in turn. If something about the unit is not known, any
    /// configuration may decide on them.
    fn may_alter_outputs(&self, directory: &Path, seen: &mut BTreeSet<PathBuf>) -> bool {
        let Ok(canonical) = canonicalize(directory) else {
            return self.alters_configuration();
        };
        if !seen.insert(canonical.clone()) {
            return false;
        }
        let Some(unit) =
            TerragruntUnit::open(&Tree::Work, &canonical, &canonical, self.environment)
        else {
            return self.alters_configuration();
        };
        let read = &unit.read;
        let Ok(source) = &read.source else {
            return self.alters_configuration();
        };
        let Some(dependencies) = read.reads.dependencies() else {
            return self.alters_configuration();
        };
        if !read.unknown.is_empty() || seen.len() > MOST_UNITS {
            return self.alters_configuration();
        }

        // A module of this repository may call any other one.
        let is_module_here = !matches!(source, UnitSource::Remote(_));
        for path in &self.change.differing {
            if path.starts_with(&canonical)
                || read.files.contains(path)
                || (is_module_here && is_configuration(file_name(path)))
            {
                return true;
            }
        }
        for dependency in dependencies {
            if self.may_alter_outputs(dependency, seen) {
                return true;
            }
        }
        false
    }

    fn alters_configuration(&self) -> bool {
        let mut differing = self.change.differing.iter();
        differing.any(|path| is_part_of_configuration(file_name(path)))
    }
}
