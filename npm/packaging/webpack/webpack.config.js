import HtmlPlugin from "html-webpack-plugin";

export default {
  entry: "./src/main.js",
  output: { clean: true },
  plugins: [new HtmlPlugin({ templateContent: '<main id="app"></main>' })],
};
