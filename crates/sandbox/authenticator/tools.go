//go:build tools

package tools

import _ "sigs.k8s.io/aws-iam-authenticator/cmd/aws-iam-authenticator"
