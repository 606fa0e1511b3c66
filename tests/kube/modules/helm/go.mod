// Lints and renders the chart; apart from the others, because it follows Kubernetes at its own pace.
module tangram.test/helm

go 1.26.0

require helm.sh/helm/v3 v3.22.0

tool helm.sh/helm/v3/cmd/helm
