import { connect } from "greendot";
import { PRESENCE, usePresence } from "greendot/vue";
import { createApp, h } from "vue";

const page = new URLSearchParams(location.search);
const presence = connect({ url: page.get("server"), token: () => page.get("user") });

const Contact = {
  props: { user: { type: String, required: true } },
  setup(props) {
    const view = usePresence(() => props.user);
    return () => h("li", { "data-user": props.user, "data-state": view.value.state }, `${props.user} is ${view.value.state}`);
  },
};

createApp({ render: () => h("ul", ["ana", "bo"].map(user => h(Contact, { user, key: user }))) })
  .provide(PRESENCE, presence)
  .mount("#app");
