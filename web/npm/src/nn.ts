export * from "./modules.js";
export * from "./transformer.js";
