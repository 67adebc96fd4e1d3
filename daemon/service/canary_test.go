package service

// canary is a secret that may be found nowhere but in its file.
const canary = "canary-7f3a"
