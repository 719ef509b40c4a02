// Writes each dashboard as FOLDER/NAME.json: node write.mjs FOLDER. The code was compiled before.
import { writeFileSync } from "node:fs";
import { dashboards } from "./made/index.js";

for (const [name, made] of Object.entries(dashboards)) {
  writeFileSync(`${process.argv[2]}/${name}.json`, `${JSON.stringify(made, null, 2)}\n`);
}
