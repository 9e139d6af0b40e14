// The page of `maxmargin lab`: the lab over a websocket to the server that the page came from.
import { mount } from "./lab.js";
import { createLink, overSocket } from "./link.js";

const here = new URL(location.href);
const token = here.searchParams.get("token");
const url = `${here.protocol === "https:" ? "wss:" : "ws:"}//${here.host}/ws${token ? `?token=${encodeURIComponent(token)}` : ""}`;
mount(/** @type {HTMLElement} */ (document.querySelector(".mm-lab")), createLink(overSocket(url)), { page: true });
