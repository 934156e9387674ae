//! What a program starts ends with it, however that ends: killed, interrupted, or in a panic that no destructor survives.
//!
//! All of it is one process group. Its first member is a shell that reads from a pipe which only the program holds: the end of
//! that is the program's end, and then it kills its group. So no number of a process is remembered, which another might have by
//! then, and nobody has to be told; nor has a thread to live on, as with the kernel's signal for a parent's death.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Waits for the end of its input, and kills its process group.
const KEEPER: &str = "read _; kill -s KILL 0";

/// Has what this command starts end with this program, and at once.
///
/// # Errors
///
/// If there is no `sh` on the path.
pub fn tie(command: &mut Command) -> io::Result<&mut Command> {
    // For as long as this program runs.
    static GROUP: Mutex<Option<Child>> = Mutex::new(None);
    let mut group = GROUP.lock().unwrap_or_else(PoisonError::into_inner);
    let keeper = match &mut *group {
        Some(keeper) => keeper,
        none => none.insert(keeper()?),
    };
    Ok(command.process_group(keeper.id() as i32))
}

fn keeper() -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", KEEPER])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};

    use super::*;

    #[test]
    #[ignore = "is the program that the other test ends"]
    fn starts_another_and_waits_for_it() {
        let mut command = Command::new("sh");
        tie(command.args(["-c", "echo started; sleep 60; echo outlived"])).unwrap();
        command.status().unwrap();
    }

    #[test]
    fn what_a_program_has_started_ends_with_it() {
        for signal in ["KILL", "TERM"] {
            let mut program = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "tie::tests::starts_another_and_waits_for_it"])
                .args(["--ignored", "--nocapture"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut says = BufReader::new(program.stdout.take().unwrap());
            let mut line = String::new();
            while !line.contains("started\n") {
                assert_ne!(says.read_line(&mut line).unwrap(), 0, "it ended by itself: {line}");
            }
            let id = program.id().to_string();
            assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
            // Ends when nobody holds the pipe any more: neither the program nor what it started.
            let mut rest = String::new();
            says.read_to_string(&mut rest).unwrap();
            assert!(!rest.contains("outlived"), "behind {signal}");
            program.wait().unwrap();
        }
    }
}
