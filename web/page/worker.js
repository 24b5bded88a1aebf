// Keeps the page, so that it works offline: its files (files.json, which tools/web writes) when it is first opened, and what else is
// loaded later. What is newer on the server is taken when there is one.
const store = 'weft';
self.addEventListener('install', event => {
  self.skipWaiting();
  event.waitUntil((async () => (await caches.open(store)).addAll(await (await fetch('files.json')).json()))());
});
self.addEventListener('activate', event => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', event => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== location.origin) return;
  event.respondWith((async () => {
    const cache = await caches.open(store);
    try {
      const response = await fetch(request);
      if (response.ok) await cache.put(request, response.clone());
      return response;
    } catch (error) {
      const kept = await cache.match(request, { ignoreSearch: true });
      if (kept) return kept;
      throw error;
    }
  })());
});
