import { rspack } from "@rspack/core";

export default {
  entry: "./src/main.js",
  output: { clean: true },
  plugins: [new rspack.HtmlRspackPlugin({ templateContent: '<main id="app"></main>' })],
};
