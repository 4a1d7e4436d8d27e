/** Where the page begins: which source of documents there is, and the frame. */

import { render } from "preact";
import { App } from "./app";
import { embedded, served } from "./folder";
import { Server, type Source } from "./source";
import { SourceContext } from "./use";

function source(kind: string | undefined): Source {
  if (kind === "embedded") {
    return embedded(JSON.parse(document.getElementById("data")?.textContent ?? "{}") as Record<string, unknown>);
  }
  return kind === "folder" ? served() : new Server();
}

const root = document.getElementById("app");
if (root) {
  render(<SourceContext.Provider value={source(root.dataset.source)}><App /></SourceContext.Provider>, root);
}
