//! The one place that runs other programs: it prints the command as a person would type it, and a failure names it.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::paths;

/// A command to run, in the workspace's folder unless told otherwise.
pub(crate) struct Run {
    command: Command,
    /// What a person would type, apart from the folder.
    line: String,
    dir: Dir,
    quiet: bool,
}

/// The folder that a command runs in.
#[derive(Clone, Copy)]
enum Dir {
    Workspace,
    Npm,
}

/// `program` with the arguments in `line`, split at blanks. Arguments with blanks go through [`Run::arg`].
pub(crate) fn program(program: impl AsRef<OsStr>, line: &str) -> Run {
    let shown = quoted(program.as_ref(), Dir::Workspace);
    Run::new(program.as_ref(), shown, Dir::Workspace).args(line)
}

/// The cargo that runs this very command.
pub(crate) fn cargo(line: &str) -> Run {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Run::new(&cargo, "cargo".into(), Dir::Workspace).args(line)
}

/// npm, in the package's folder.
pub(crate) fn npm(line: &str) -> Run {
    Run::new("npm".as_ref(), "npm".into(), Dir::Npm).args(line)
}

/// A program that an npm package has brought along.
pub(crate) fn npm_bin(name: &str, line: &str) -> Run {
    program(paths::npm().join("node_modules/.bin").join(name), line)
}

impl Run {
    fn new(program: &OsStr, shown: String, dir: Dir) -> Self {
        let mut command = Command::new(program);
        command.current_dir(match dir {
            Dir::Workspace => paths::root(),
            Dir::Npm => paths::npm(),
        });
        Self { command, line: shown, dir, quiet: false }
    }

    fn args(self, line: &str) -> Self {
        line.split_whitespace().fold(self, Self::arg)
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg.as_ref());
        self.line.push(' ');
        self.line.push_str(&quoted(arg.as_ref(), self.dir));
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value.as_ref());
        self.line.insert_str(0, &format!("{key}={} ", quoted(value.as_ref(), self.dir)));
        self
    }

    /// Runs where the person stands, so that the paths they gave mean what they meant.
    pub(crate) fn here(mut self) -> Result<Self> {
        let here = env::current_dir().context("the current folder is gone")?;
        self.command.current_dir(here);
        Ok(self)
    }

    /// Does not print the command: for questions rather than work.
    pub(crate) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Runs it to its end with this process' input and output.
    pub(crate) fn run(mut self) -> Result<()> {
        self.announce();
        let status =
            self.command.status().with_context(|| format!("cannot start: {}", self.typed()))?;
        if !status.success() {
            bail!("failed ({status}): {}", self.typed());
        }
        Ok(())
    }

    /// Runs it to its end and returns what it printed. Its error output is shown unless the command is quiet.
    pub(crate) fn output(mut self) -> Result<String> {
        self.announce();
        self.command.stderr(if self.quiet { Stdio::null() } else { Stdio::inherit() });
        let output =
            self.command.output().with_context(|| format!("cannot start: {}", self.typed()))?;
        if !output.status.success() {
            bail!("failed ({}): {}", output.status, self.typed());
        }
        String::from_utf8(output.stdout)
            .with_context(|| format!("not UTF-8: output of {}", self.typed()))
    }

    /// Whether it starts and ends well; nothing is printed.
    pub(crate) fn succeeds(self) -> bool {
        self.quiet().output().is_ok()
    }

    /// Becomes the command, so that signals (Ctrl-C among them) reach it and nobody else. Returns only if that fails.
    #[cfg(unix)]
    pub(crate) fn replace(mut self) -> Result<()> {
        use std::os::unix::process::CommandExt as _;

        self.announce();
        let error = self.command.exec();
        Err(error).with_context(|| format!("cannot start: {}", self.typed()))
    }

    /// Runs the command in the foreground: where processes cannot be replaced, that is as near as it gets.
    #[cfg(not(unix))]
    pub(crate) fn replace(self) -> Result<()> {
        self.run()
    }

    /// The command as the person would type it in the workspace's folder.
    pub(crate) fn typed(&self) -> String {
        match self.dir {
            Dir::Workspace => self.line.clone(),
            Dir::Npm => format!("(cd npm && {})", self.line),
        }
    }

    fn announce(&self) {
        if !self.quiet {
            println!("$ {}", self.typed());
        }
    }
}

/// Finds a program on the search path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// A path as it reads from the workspace's folder.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(paths::root()).unwrap_or(path).display().to_string()
}

/// The argument as a shell in that folder would need it; paths inside the workspace become relative.
fn quoted(arg: &OsStr, dir: Dir) -> String {
    let path = Path::new(arg);
    let arg = match dir {
        Dir::Npm if path.starts_with(paths::root()) => format!("../{}", relative(path)),
        _ => relative(path),
    };
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@+".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) {
        arg
    } else {
        format!("'{}'", arg.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_reads_as_it_would_be_typed() {
        let run = npm("run test:browser").env("A", "b c").arg("it's");
        assert_eq!(run.typed(), r"(cd npm && A='b c' npm run test:browser 'it'\''s')");
    }

    #[test]
    fn paths_of_the_workspace_are_shown_relative() {
        let path = paths::root().join("target/x");
        assert_eq!(program("tool", "-o").arg(&path).typed(), "tool -o target/x");
        assert_eq!(npm("pack").arg(&path).typed(), "(cd npm && npm pack ../target/x)");
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = cargo("no-such-command --flag").quiet().output().unwrap_err();
        assert!(error.to_string().ends_with("cargo no-such-command --flag"), "{error}");
    }
}
