// A tab of the demo, as somebody looks at it from outside: what it shows, and what it has shown.
import { PATIENCE } from "../world.mjs";

/** A tab, asked from outside: nothing of this needs a timer or a frame of the page. */
export class Tab {
  page;
  user;

  constructor(page, user) {
    this.page = page;
    this.user = user;
  }

  /** Waits until the function holds in the page. */
  until(holds, arg) {
    return until(() => this.page.evaluate(holds, arg));
  }

  link(state) {
    return this.until(state => document.documentElement?.dataset.link === state, state);
  }

  sees(user, state, stale = false) {
    const selector = `[data-user="${user}"][data-state="${state}"][data-stale="${stale}"]`;
    return this.until(selector => document.querySelector(selector) !== null, selector);
  }

  async states(user) {
    const log = await this.page.evaluate(() => globalThis.greendotLog);
    return log.filter(entry => entry.user === user).map(entry => entry.state);
  }

  /** Writes down from now on what the link becomes. */
  async watchLink() {
    await this.page.evaluate(() => {
      const root = document.documentElement;
      const links = (globalThis.greendotLinks = [root.dataset.link]);
      const note = () => links.at(-1) !== root.dataset.link && links.push(root.dataset.link);
      new MutationObserver(note).observe(root, { attributeFilter: ["data-link"] });
    });
  }

  links() {
    return this.page.evaluate(() => globalThis.greendotLinks);
  }

  /** Chooses a mode as the person does in the menu. */
  choose(mode) {
    return this.page.evaluate(mode => {
      const menu = document.querySelector(".me select");
      // React listens for what its own setter did not do.
      Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value").set.call(menu, mode);
      menu.dispatchEvent(new Event("change", { bubbles: true }));
    }, mode);
  }

  session() {
    return this.page.evaluate(() => sessionStorage.getItem("greendot.session"));
  }
}

/** Waits for a condition, asking again until it holds. A page that is being replaced cannot answer, and is asked again. */
export async function until(holds) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    let last;
    try {
      if (await holds()) return;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`it never came to be: ${holds}`, { cause: last });
    await new Promise(done => setTimeout(done, 20));
  }
}
