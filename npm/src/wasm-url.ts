/** What a bundler that takes wasm files for assets gives for this package's: its address. For the option `wasm`. */
declare const address: string;
export default address;
