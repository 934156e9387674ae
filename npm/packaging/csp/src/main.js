import { defineGreenDot } from "greendot/element";
import { connect } from "greendot/slim";

const page = new URLSearchParams(location.search);
defineGreenDot(connect({ url: page.get("server"), token: () => page.get("user"), wasm: "client_bg.wasm" }));
