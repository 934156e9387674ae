//! Which pages may connect: the allow-list of origins.
//!
//! A browser sends a site's cookies along with whatever page asks, and tells by `Origin` which page
//! that is. Programs that are no browsers send none; they have no stranger's cookies either.

use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

/// The origins that may connect.
#[derive(Clone, Debug)]
pub(super) struct Origins(Vec<String>);

impl Origins {
    /// Takes a list.
    ///
    /// # Errors
    ///
    /// The first one that is no origin.
    pub(super) fn new(list: &[String]) -> Result<Self, String> {
        list.iter()
            .map(|it| normal(it).ok_or_else(|| it.clone()))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether a request with these headers may go on.
    pub(super) fn allow(&self, headers: &HeaderMap) -> bool {
        // Several are as good as none that is known.
        headers.get_all(header::ORIGIN).iter().all(|it| {
            let origin = it.to_str().unwrap_or_default();
            self.0.iter().any(|known| known.eq_ignore_ascii_case(origin))
        })
    }
}

/// The answer to a page of another origin.
pub(super) fn forbidden(headers: &HeaderMap) -> Response {
    let origin = headers.get(header::ORIGIN).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let text = format!(
        "Pages of the origin {origin:?} may not connect here. Its operator can allow them: \
         `greendot-server --allow-origin`, or `Builder::allow_origins` in an app.\n"
    );
    (StatusCode::FORBIDDEN, text).into_response()
}

/// An origin as browsers write it: scheme, host, and the port where it is not the usual one.
fn normal(text: &str) -> Option<String> {
    let uri: Uri = text.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let bare = format!("{scheme}://{authority}");
    // No path, not even an empty one, and nobody's name before the host.
    if !bare.eq_ignore_ascii_case(text) || authority.as_str().contains(['@', '*']) {
        return None;
    }
    let usual = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let bare = bare.to_ascii_lowercase();
    Some(match bare.strip_suffix(usual) {
        Some(short) if !usual.is_empty() => short.into(),
        _ => bare,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(origins: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for origin in origins {
            headers.append(header::ORIGIN, origin.parse().unwrap());
        }
        headers
    }

    #[test]
    fn origins_are_taken_as_browsers_write_them() {
        let list = ["https://chat.example", "HTTP://Localhost:5173", "https://a.example:443"];
        let origins = Origins::new(&list.map(String::from)).unwrap();
        for good in ["https://chat.example", "http://localhost:5173", "https://a.example"] {
            assert!(origins.allow(&headers(&[good])), "{good}");
        }
        for bad in [
            "null",
            "",
            "http://chat.example",
            "https://chat.example.evil.example",
            "https://evil.example/https://chat.example",
            "https://chat.example:444",
            "http://localhost",
        ] {
            assert!(!origins.allow(&headers(&[bad])), "{bad}");
        }
        assert!(origins.allow(&headers(&[])), "no browser");
        assert!(!origins.allow(&headers(&["https://chat.example", "https://evil.example"])));
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for wrong in [
            "*",
            "chat.example",
            "https://",
            "https://chat.example/",
            "https://*.example",
            "https://a@b.example",
        ] {
            assert_eq!(Origins::new(&[wrong.into()]).unwrap_err(), wrong);
        }
    }
}
