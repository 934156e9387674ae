import { connect } from "greendot";
import { defineGreenDot } from "greendot/element";

const page = new URLSearchParams(location.search);
defineGreenDot(connect({ url: page.get("server"), token: () => page.get("user") }));
