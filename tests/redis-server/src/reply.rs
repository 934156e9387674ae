//! One request to a Redis, one reply.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Asks the server at this port of loopback. Rows of a list are lines.
///
/// # Errors
///
/// If it cannot be reached, or answers with an error, which is then the text.
pub(crate) fn ask(port: u16, words: &[&str]) -> io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWER))?;
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        request += &format!("${}\r\n{word}\r\n", word.len());
    }
    stream.write_all(request.as_bytes())?;
    read(&mut BufReader::new(stream))
}

fn read(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    let line = line.trim_end();
    let Some((kind, rest)) = line.split_at_checked(1) else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let length = || rest.parse::<i64>().map_err(io::Error::other);
    match kind {
        "+" | ":" => Ok(rest.into()),
        "$" => {
            let Ok(length) = usize::try_from(length()?) else { return Ok(String::new()) };
            let mut bytes = vec![0; length + 2];
            from.read_exact(&mut bytes)?;
            bytes.truncate(length);
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        "*" => {
            let rows: io::Result<Vec<String>> = (0..length()?).map(|_| read(from)).collect();
            Ok(rows?.join("\n"))
        }
        _ => Err(io::Error::other(rest.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_as_text() {
        let read = |mut row: &[u8]| read(&mut row);
        assert_eq!(read(b"+OK\r\n").unwrap(), "OK");
        assert_eq!(read(b":7\r\n").unwrap(), "7");
        assert_eq!(read(b"$4\r\na\r\nb\r\n").unwrap(), "a\r\nb");
        assert_eq!(read(b"$-1\r\n").unwrap(), "");
        assert_eq!(read(b"*2\r\n$1\r\na\r\n:2\r\n").unwrap(), "a\n2");
        assert_eq!(read(b"-NOAUTH Authentication required.\r\n").unwrap_err().to_string(), {
            "NOAUTH Authentication required."
        });
        assert!(read(b"").is_err());
    }
}
