// The worker of the page: it runs the program in WebAssembly, so that the page answers keys while the program computes.
// It takes {program} (gzip, base64) or {module} once, then {request}.
"use strict";

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function compile(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(stream, { headers: { "Content-Type": "application/wasm" } }));
}

async function start(data) {
  const go = new Go();
  go.env = { GOGC: "400" }; // answers are short, and leave garbage
  const module = data.module || (await compile(data.program));
  const instance = await WebAssembly.instantiate(module, go.importObject);
  go.run(instance).then(() => postMessage({ failed: "the program has ended" }));
  postMessage({ module });
}

onmessage = ({ data }) => {
  if (data.request === undefined) {
    start(data).catch((e) => postMessage({ failed: String(e) }));
    return;
  }
  try {
    postMessage({ answer: stagecraft(data.request) });
  } catch (e) {
    postMessage({ failed: String(e) });
  }
};
